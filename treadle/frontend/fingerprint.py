def fingerprint(*a): return None
