def findings(results):
    return []
