"""One request to a language model: canonical form, price, allowance, structured answers. Knows no provider."""
