"""The audit of what is installed and committed: known vulnerabilities, bills of material, secrets."""
