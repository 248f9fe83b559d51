# One file for every builder: docker, podman and buildah, with a registry's Python image or any other base that has
# /usr/bin/env python3 (>= 3.11) with its venv module.
#
#   docker build -t mcptasks:dev .
#
# Optional build secrets, for networks of their own; neither leaves a trace in the image:
#   --secret id=ca,src=...    the certificates (PEM) that package downloads are checked with
#   --secret id=pip,src=...   a pip.conf, for an index other than PyPI
ARG BASE_IMAGE=python:3.11-slim

# What runs needs, locked by hash. Changes with the lock only.
FROM ${BASE_IMAGE} AS dependencies
ENV PIP_CONFIG_FILE=/run/secrets/pip PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
# pip has an environment of its own: nothing that runs needs it.
RUN python3 -m venv /opt/build && python3 -m venv --without-pip /opt/mcptasks
COPY locks/runtime.txt locks/build.txt /build/locks/
RUN --mount=type=secret,id=ca --mount=type=secret,id=pip --mount=type=cache,target=/root/.cache/pip \
    if [ -s /run/secrets/ca ]; then export PIP_CERT=/run/secrets/ca; fi \
    && /opt/build/bin/pip install --require-hashes --only-binary=:all: --requirement /build/locks/build.txt \
    && /opt/build/bin/pip --python /opt/mcptasks/bin/python install \
         --require-hashes --only-binary=:all: --requirement /build/locks/runtime.txt

# The product: one wheel, and what it installs as a tree of its own, so that a change of the code is a small layer.
FROM dependencies AS product
WORKDIR /build
COPY pyproject.toml README.md LICENSE ./
COPY crds crds
COPY operator operator
COPY server server
COPY client client
RUN PYTHONSAFEPATH=1 /opt/build/bin/pip wheel --no-index --no-deps --no-build-isolation --wheel-dir /build/dist . \
    && /opt/build/bin/pip --python /opt/mcptasks/bin/python install \
         --no-index --no-deps --root /product /build/dist/*.whl

FROM ${BASE_IMAGE} AS runtime
ARG VERSION=dev
ARG REVISION=unknown
LABEL org.opencontainers.image.title="mcptasks" \
      org.opencontainers.image.description="A Kubernetes operator that runs long MCP tool calls (tasks) as Jobs" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
# PYTHONSAFEPATH: this project has a folder named operator/, and so may a working directory.
# HOME and USER: any user id may run this, also one that no passwd file knows; only /tmp can be written to.
ENV PATH=/opt/mcptasks/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONSAFEPATH=1 \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    HOME=/tmp \
    USER=mcptasks
COPY --from=dependencies /opt/mcptasks /opt/mcptasks
COPY --from=product /product/opt/mcptasks /opt/mcptasks
WORKDIR /tmp
# A number: only so can a kubelet know that it is not root. Group 0 and nothing to write: any other number does too.
USER 65532:0
CMD ["mcptasks", "--help"]

# For the tests alone: the image above, and the tool pack that the official conformance suite wants.
FROM dependencies AS conformance-pack
WORKDIR /build/pack
COPY tests/fixtures/conformance_pack ./
RUN PYTHONSAFEPATH=1 /opt/build/bin/pip wheel --no-index --no-deps --no-build-isolation --wheel-dir /build/dist . \
    && /opt/build/bin/pip --python /opt/mcptasks/bin/python install \
         --no-index --no-deps --root /pack /build/dist/*.whl

FROM runtime AS conformance
COPY --from=conformance-pack /pack/opt/mcptasks /opt/mcptasks

# The example tools: this project's own sources and tests, and what testing takes, on top of the image above.
FROM dependencies AS testing
COPY locks/dev.txt /build/locks/
RUN --mount=type=secret,id=ca --mount=type=secret,id=pip --mount=type=cache,target=/root/.cache/pip \
    if [ -s /run/secrets/ca ]; then export PIP_CERT=/run/secrets/ca; fi \
    && /opt/build/bin/pip --python /opt/mcptasks/bin/python install \
         --require-hashes --only-binary=:all: --root /testing --requirement /build/locks/dev.txt

FROM ${BASE_IMAGE} AS sources
COPY . /src
RUN chmod -R a+rX,go-w /src

FROM runtime AS examples
COPY --from=testing /testing/opt/mcptasks /opt/mcptasks
COPY --from=sources /src /src
