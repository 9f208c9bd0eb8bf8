"""Attribute names: OTel's (`gen_ai`), MCP's and our own (`spanwitness`)."""
