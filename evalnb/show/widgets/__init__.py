"""Tools to look, tune and judge by hand: live in JupyterLab, static HTML everywhere else."""
