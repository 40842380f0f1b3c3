"""The five papers as commands: every figure and table, and a verdict on every claim.

``smidgen papers list`` shows what there is, ``smidgen papers run coactive/fig2`` runs one, ``smidgen papers report``
makes a page of all that was run. One module (or package) per paper, by its short name: `coactive` (JAIR 2015),
`coactive2012` (ICML 2012), `confidit` (Machine Learning 2013), `filtering` (NIPS 2002) and `onseg` (2018).
"""
