"""The paper: its data sets, tables and figures."""
