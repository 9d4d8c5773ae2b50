"""The composition root of the Glue jobs: their objects and AWS clients. It is not in the layer, as jobs/ is not."""
