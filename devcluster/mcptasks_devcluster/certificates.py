"""One certificate authority and what it signs, by openssl 3: the standard library makes no certificates."""

from dataclasses import dataclass
from pathlib import Path

from mcptasks_devcluster.shell import run

_DAYS = "3650"
_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


@dataclass(frozen=True, kw_only=True)
class Identity:
    """Who a certificate is for: a Kubernetes user and group, or (with names) a server."""

    name: str
    """The file's name."""
    user: str
    group: str = ""
    names: tuple[str, ...] = ()
    """Subject alternative names, as ``IP:127.0.0.1`` or ``DNS:localhost``."""

    @property
    def subject(self) -> str:
        """As openssl wants it."""
        return (f"/O={self.group}" if self.group else "") + f"/CN={self.user}"


def client_identities(node: str) -> list[Identity]:
    """Every user that the components and the people at the machine are."""
    return [
        Identity(name="admin", user="devcluster-admin", group="system:masters"),
        Identity(name="apiserver-kubelet-client", user="devcluster-apiserver", group="system:masters"),
        Identity(name="kube-controller-manager", user="system:kube-controller-manager"),
        Identity(name="kube-scheduler", user="system:kube-scheduler"),
        Identity(name="kube-proxy", user="system:kube-proxy"),
        Identity(name="coredns", user="system:coredns"),
        Identity(name="kubelet", user=f"system:node:{node}", group="system:nodes"),
    ]


def server_identity(addresses: list[str]) -> Identity:
    """The API server, under every name that anything reaches it by."""
    inside = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")
    names = [f"DNS:{name}" for name in ("localhost", *inside)] + [f"IP:{address}" for address in addresses]
    return Identity(name="kube-apiserver", user="kube-apiserver", names=tuple(names))


def make_authority(pki: Path) -> None:
    """``ca.crt`` and ``ca.key``, and the key that service account tokens are signed with."""
    pki.mkdir(parents=True, exist_ok=True, mode=0o700)
    run(
        [
            *("openssl", "req", "-x509", *_KEY, "-days", _DAYS, "-subj", "/CN=devcluster-ca"),
            *("-keyout", str(pki / "ca.key"), "-out", str(pki / "ca.crt")),
            *("-addext", "keyUsage=critical,digitalSignature,keyCertSign"),
        ]
    )
    run(["openssl", "genrsa", "-out", str(pki / "sa.key"), "2048"])
    run(["openssl", "rsa", "-in", str(pki / "sa.key"), "-pubout", "-out", str(pki / "sa.pub")])


def make_certificate(pki: Path, identity: Identity) -> None:
    """``<name>.crt`` and ``<name>.key``."""
    run(certificate_command(pki, identity))


def certificate_command(pki: Path, identity: Identity) -> list[str]:
    """The one openssl command that makes the key and the signed certificate."""
    extensions = ["basicConstraints=critical,CA:FALSE", "keyUsage=critical,digitalSignature"]
    if identity.names:
        extensions += ["extendedKeyUsage=serverAuth", f"subjectAltName={','.join(identity.names)}"]
    else:
        extensions += ["extendedKeyUsage=clientAuth"]
    return [
        *("openssl", "req", "-x509", *_KEY, "-days", _DAYS, "-subj", identity.subject),
        *("-CA", str(pki / "ca.crt"), "-CAkey", str(pki / "ca.key")),
        *("-keyout", str(pki / f"{identity.name}.key"), "-out", str(pki / f"{identity.name}.crt")),
        *(word for extension in extensions for word in ("-addext", extension)),
    ]
