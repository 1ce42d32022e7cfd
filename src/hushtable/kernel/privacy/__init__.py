"""What privacy costs and what has been paid: exact losses, accounts, and the durable ledger.

Nothing is imported here: whoever only reads releases needs `loss` and no database.
"""
