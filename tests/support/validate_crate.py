"""A folder held against RO-Crate 1.1's requirements, by the validator's own Python and no network.

    $(setup/crate_validator) tests/support/validate_crate.py FOLDER CACHE

Prints a line for each requirement that is not met; exits with 1 if there is one. The one file that
the validator would fetch, the JSON-LD context, it finds in CACHE, where this puts it from the
package ``rocrate``.
"""

from __future__ import annotations

import io
import sys
from importlib import resources
from pathlib import Path
from typing import Any

from requests.adapters import HTTPAdapter
from requests_cache import CachedSession
from rocrate_validator import services
from rocrate_validator.models import Severity
from urllib3 import HTTPResponse

CONTEXT = "https://w3id.org/ro/crate/1.1/context"
PROFILE = "ro-crate-1.1"


class Local(HTTPAdapter):
    """Answers every request with the context."""

    def send(self, request: Any, *_given: Any, **_how: Any) -> Any:
        """Return the context, as a server would send it."""
        context = resources.files("rocrate").joinpath("data/ro-crate.jsonld").read_bytes()
        answer = HTTPResponse(
            io.BytesIO(context), {"Content-Type": "application/ld+json"}, 200,
            preload_content=False, request_url=request.url,
        )  # fmt: skip
        return self.build_response(request, answer)


def main(folder: Path, cache: Path) -> int:
    """Validate a folder; return the exit status."""
    with CachedSession(str(cache), expire_after=-1, backend="sqlite") as session:
        session.mount("https://", Local())
        session.get(CONTEXT).raise_for_status()
    found = services.validate(
        {
            "rocrate_uri": str(folder), "profile_identifier": PROFILE, "offline": True,
            "requirement_severity": Severity.REQUIRED, "cache_path": cache,
        }
    )  # fmt: skip
    for issue in found.get_issues():
        print(f"{issue.check.identifier}: {issue.message}")  # noqa: T201
    print(f"{len(found.executed_checks)} checks")  # noqa: T201
    return 1 if found.has_issues() else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
