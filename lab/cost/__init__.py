"""A month of fanin in dollars: units counted on the template and the code, at ``fanin.cost``'s prices."""
