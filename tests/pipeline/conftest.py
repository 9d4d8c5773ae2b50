import pytest
from tests.aws import Deployed
from tests.aws import clients as clients
from tests.aws import deployed as deployed
from tests.pipeline.stack import PipelineStack


@pytest.fixture
def stack(deployed: Deployed) -> PipelineStack:
    return PipelineStack(deployed)
