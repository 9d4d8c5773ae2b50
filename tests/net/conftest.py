from tests.aws import clients as clients
from tests.aws import deployed as deployed
from tests.pipeline.conftest import stack as stack
