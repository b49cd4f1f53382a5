"""Which files hold credentials by their well-known names, so that what is read from them carries its taint.

Whether reading them is all right is the rules' business; this list only follows data that leaves.
"""

from __future__ import annotations

import re

from policyengine.patterns import lazily

PATH_MAX = 4096  # bytes of a path name (limits.h); longer ones name nothing

_SECRET = lazily(
    r"/\.ssh/(?!.*\.pub\Z|known_hosts|config\Z)[^/]+\Z"
    r"|/etc/(?:shadow|gshadow|sudoers|master\.passwd|krb5\.keytab|ssl/private/.*|ssh/ssh_host_[^.]*)\Z"
    r"|/\.(?:netrc|pgpass|git-credentials|npmrc|pypirc|vault-token|my\.cnf|htpasswd|dockercfg|boto|s3cfg)\Z"
    r"|/\.env(?:\.(?!example|sample|template)[\w.-]+)?\Z"
    r"|/\.aws/(?:credentials|config|sso/.*)\Z|/\.azure/.*\Z|/\.kube/config\Z|/\.docker/config\.json\Z"
    r"|/\.config/(?:gcloud|gh)/.*\Z|/\.gnupg/.*\Z|/\.password-store/.*\Z|/\.m2/settings\.xml\Z"
    r"|/[^/]*\.(?:pem|pfx|p12|key|kdbx|keystore|jks|ppk)\Z|/id_(?:rsa|dsa|ecdsa|ed25519)\Z"
    r"|/proc/[^/]+/environ\Z|/var/run/secrets/.*\Z|/run/secrets/.*\Z"
    r"|/(?:Login Data|logins\.json|key[34]\.db|Cookies)\Z",
    re.DOTALL,
)


def is_secret(path: str) -> bool:
    """Whether a file of this name usually holds credentials."""
    return len(path) <= PATH_MAX and _SECRET.search(path) is not None
