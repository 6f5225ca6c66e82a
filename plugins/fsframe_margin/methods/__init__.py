"""The margin methods: one module per selector or classifier, with its parameters."""
