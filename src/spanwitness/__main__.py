"""`python -m spanwitness` is the command line."""

from spanwitness.cli.app import main

main()
