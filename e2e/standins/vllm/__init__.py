"""Stand-in: just enough of the package's interface to import what a fix in the `vllm` style writes."""
