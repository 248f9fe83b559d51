"""The command lines of etcd, the API server, the controller manager and the scheduler. Values in, arguments out."""

from dataclasses import dataclass
from pathlib import Path

from mcptasks_devcluster.build import binary
from mcptasks_devcluster.plan import Component

SERVICE_RANGE = "10.96.0.0/16"
FIRST_SERVICE_ADDRESS = "10.96.0.1"
ISSUER = "https://kubernetes.default.svc.cluster.local"


AUDIT_POLICY = "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n"
"""Who asked for what, without bodies."""


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """What a control plane is asked for beyond its size."""

    kcm_qps: int = 20
    """kube-controller-manager's `--kube-api-qps`; 20 is its own default."""
    audit: bool = False
    """Write each request to an audit log."""


@dataclass(frozen=True, kw_only=True)
class ControlPlane:
    """Where the control plane listens and keeps its files; the same for a light and a whole cluster."""

    pki: Path
    data: Path
    kubeconfigs: Path
    bind: str
    advertise: str
    api_port: int
    etcd_port: int
    etcd_peer_port: int
    tuning: Tuning
    whole: bool
    """With nodes: a scheduler, and an API server that calls kubelets and tells pods its address."""
    prefix: tuple[str, ...] = ()
    """Put before every command."""

    @property
    def ready(self) -> str:
        """The probe for an API server that answers."""
        return f"http:https://127.0.0.1:{self.api_port}/readyz"

    @property
    def audit_policy(self) -> Path:
        """What is to be written to the audit log; written by the layout."""
        return self.pki / "audit-policy.yaml"

    def components(self) -> tuple[Component, ...]:
        """Everything of it that runs."""
        common = (self._etcd(), self._apiserver(), self._controller_manager())
        return (*common, self._scheduler()) if self.whole else common

    def _component(self, name: str, arguments: list[str], after: tuple[str, ...] = ()) -> Component:
        return Component(name=name, argv=(*self.prefix, str(binary(name)), *arguments), after=after)

    def _etcd(self) -> Component:
        client = f"http://127.0.0.1:{self.etcd_port}"
        peer = f"http://127.0.0.1:{self.etcd_peer_port}"
        return self._component(
            "etcd",
            [
                f"--data-dir={self.data / 'etcd'}",
                f"--listen-client-urls={client}",
                f"--advertise-client-urls={client}",
                f"--listen-peer-urls={peer}",
                f"--initial-advertise-peer-urls={peer}",
                f"--initial-cluster=default={peer}",
                # Nothing here is to survive a power cut, and tests write much.
                "--unsafe-no-fsync",
                "--log-level=warn",
            ],
        )

    def _apiserver(self) -> Component:
        arguments = [
            f"--etcd-servers=http://127.0.0.1:{self.etcd_port}",
            f"--bind-address={self.bind}",
            f"--advertise-address={self.advertise}",
            f"--secure-port={self.api_port}",
            f"--service-cluster-ip-range={SERVICE_RANGE}",
            f"--tls-cert-file={self.pki / 'kube-apiserver.crt'}",
            f"--tls-private-key-file={self.pki / 'kube-apiserver.key'}",
            f"--client-ca-file={self.pki / 'ca.crt'}",
            f"--service-account-issuer={ISSUER}",
            f"--service-account-key-file={self.pki / 'sa.pub'}",
            f"--service-account-signing-key-file={self.pki / 'sa.key'}",
            f"--cert-dir={self.data / 'apiserver'}",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            "--allow-privileged=true",
        ]
        if self.whole:
            arguments += [
                f"--kubelet-client-certificate={self.pki / 'apiserver-kubelet-client.crt'}",
                f"--kubelet-client-key={self.pki / 'apiserver-kubelet-client.key'}",
                # Else the node's name would be looked up in DNS.
                "--kubelet-preferred-address-types=InternalIP",
            ]
        else:
            # A loopback address cannot be published as the endpoint of the Service "kubernetes".
            arguments += ["--endpoint-reconciler-type=none"]
        if self.tuning.audit:
            arguments += [f"--audit-policy-file={self.audit_policy}", f"--audit-log-path={self.data / 'audit.log'}"]
        return self._component("kube-apiserver", arguments, after=(f"tcp:127.0.0.1:{self.etcd_port}",))

    def _controller_manager(self) -> Component:
        # Each controller as its own service account is what real clusters have. Making some forty of them at 20
        # requests a second takes half of a light cluster's start, so there all of them are the administrator.
        user = "kube-controller-manager" if self.whole else "admin"
        return self._component(
            "kube-controller-manager",
            [
                f"--kubeconfig={self.kubeconfigs / f'{user}.kubeconfig'}",
                f"--service-account-private-key-file={self.pki / 'sa.key'}",
                f"--root-ca-file={self.pki / 'ca.crt'}",
                f"--kube-api-qps={self.tuning.kcm_qps}",
                f"--kube-api-burst={self.tuning.kcm_qps * 3 // 2}",
                f"--use-service-account-credentials={'true' if self.whole else 'false'}",
                f"--flex-volume-plugin-dir={self.data / 'volumeplugins'}",
                "--leader-elect=false",
                "--secure-port=0",
            ],
            after=(self.ready,),
        )

    def _scheduler(self) -> Component:
        return self._component(
            "kube-scheduler",
            [
                f"--kubeconfig={self.kubeconfigs / 'kube-scheduler.kubeconfig'}",
                f"--kube-api-qps={max(50, self.tuning.kcm_qps)}",
                f"--kube-api-burst={max(100, self.tuning.kcm_qps * 3 // 2)}",
                "--leader-elect=false",
                "--secure-port=0",
            ],
            after=(self.ready,),
        )
