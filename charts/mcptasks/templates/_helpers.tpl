{{- /*
What several objects have in common. Helpers that speak of a component take a dict: {root, component}.
*/}}

{{- define "mcptasks.labels" -}}
{{- $selector := include "mcptasks.selectorLabels" . | fromYaml }}
{{- $own := dict
  "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_")
  "app.kubernetes.io/version" .root.Chart.AppVersion
  "app.kubernetes.io/managed-by" .root.Release.Service
  "app.kubernetes.io/part-of" "mcptasks" }}
{{- mergeOverwrite (deepCopy .root.Values.commonLabels) $own $selector | toYaml }}
{{- end }}

{{- define "mcptasks.selectorLabels" -}}
app.kubernetes.io/name: {{ include "mcptasks.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "mcptasks.podLabels" -}}
{{- $labels := include "mcptasks.labels" . | fromYaml }}
{{- mergeOverwrite (deepCopy .root.Values.podLabels) $labels | toYaml }}
{{- end }}

{{- /* Takes {root, port} or {root}: with a port, the pod has metrics to scrape. */}}
{{- define "mcptasks.podAnnotations" -}}
{{- $annotations := deepCopy .root.Values.podAnnotations }}
{{- if and .root.Values.metrics.annotations .port }}
{{- $annotations = mergeOverwrite $annotations (dict "prometheus.io/scrape" "true" "prometheus.io/path" "/metrics" "prometheus.io/port" (toString .port)) }}
{{- end }}
{{- if $annotations }}
annotations:
  {{- toYaml $annotations | nindent 2 }}
{{- end }}
{{- end }}

{{- define "mcptasks.image" -}}
{{- $image := .Values.image }}
{{- $repository := $image.repository }}
{{- if $image.registry }}
{{- $repository = printf "%s/%s" (trimSuffix "/" $image.registry) $repository }}
{{- end }}
{{- if $image.digest }}
{{- printf "%s@%s" $repository $image.digest }}
{{- else }}
{{- printf "%s:%s" $repository (default .Chart.AppVersion $image.tag) }}
{{- end }}
{{- end }}

{{- /* What every pod has: where it runs, from which registry its image comes, and that it is not root. */}}
{{- define "mcptasks.pod" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
securityContext:
  {{- toYaml (mergeOverwrite (deepCopy .Values.podSecurityContext) (dict "runAsNonRoot" true "seccompProfile" (dict "type" "RuntimeDefault"))) | nindent 2 }}
# Services' addresses as variables would be one more thing that differs between namespaces.
enableServiceLinks: false
{{- end }}

{{- /* What every container has. */}}
{{- define "mcptasks.container" -}}
image: {{ include "mcptasks.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  capabilities:
    drop: [ALL]
  readOnlyRootFilesystem: true
  runAsNonRoot: true
  seccompProfile:
    type: RuntimeDefault
volumeMounts:
  - name: tmp
    mountPath: /tmp
{{- end }}

{{- /* Apart from each other where that is possible; a cluster of one node still gets them all. Takes {root, component}. */}}
{{- define "mcptasks.spread" -}}
topologySpreadConstraints:
  {{- range $key := list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - topologyKey: {{ $key }}
    maxSkew: 1
    whenUnsatisfiable: ScheduleAnyway
    matchLabelKeys: [pod-template-hash]
    labelSelector:
      matchLabels:
        {{- include "mcptasks.selectorLabels" $ | nindent 8 }}
  {{- end }}
{{- end }}

{{- /* The one place that can be written to. */}}
{{- define "mcptasks.volumes" -}}
volumes:
  - name: tmp
    emptyDir:
      sizeLimit: 16Mi
{{- end }}
