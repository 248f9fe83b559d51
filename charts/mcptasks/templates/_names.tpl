{{- /*
Every name of an object, once. Kubernetes allows 63 characters; the longest suffix below has 15.
*/}}

{{- define "mcptasks.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 48 | trimSuffix "-" }}
{{- end }}

{{- define "mcptasks.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 48 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 48 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 48 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "mcptasks.operator.fullname" -}}
{{ include "mcptasks.fullname" . }}-operator
{{- end }}

{{- define "mcptasks.server.fullname" -}}
{{ include "mcptasks.fullname" . }}-server
{{- end }}

{{- define "mcptasks.server.metrics.fullname" -}}
{{ include "mcptasks.server.fullname" . }}-metrics
{{- end }}

{{- define "mcptasks.server.tasks.fullname" -}}
{{ include "mcptasks.server.fullname" . }}-tasks
{{- end }}

{{- define "mcptasks.server.signingKeys.fullname" -}}
{{ include "mcptasks.server.fullname" . }}-keys
{{- end }}

{{- define "mcptasks.test.fullname" -}}
{{ include "mcptasks.fullname" . }}-test
{{- end }}

{{- define "mcptasks.operator.serviceAccountName" -}}
{{- if .Values.operator.serviceAccount.create }}
{{- default (include "mcptasks.operator.fullname" .) .Values.operator.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.operator.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "mcptasks.server.serviceAccountName" -}}
{{- if .Values.server.serviceAccount.create }}
{{- default (include "mcptasks.server.fullname" .) .Values.server.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.server.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "mcptasks.tasksNamespace" -}}
{{- default .Release.Namespace .Values.tasks.namespace }}
{{- end }}

{{- /* The Service's names in DNS, by which clients in the cluster call the server. */}}
{{- define "mcptasks.server.dnsNames" -}}
{{- $name := include "mcptasks.server.fullname" . }}
{{- $namespace := .Release.Namespace }}
{{- list $name (printf "%s.%s" $name $namespace) (printf "%s.%s.svc" $name $namespace) (printf "%s.%s.svc.%s" $name $namespace .Values.clusterDomain) | join "," }}
{{- end }}

{{- /* Where tasks' pods reach the server. */}}
{{- define "mcptasks.taskEndpoint" -}}
{{- default (printf "http://%s.%s.svc.%s:8082" (include "mcptasks.server.tasks.fullname" .) .Release.Namespace .Values.clusterDomain) .Values.tasks.endpoint }}
{{- end }}

{{- /* The policy that judges who answers, and its binding. Both are the cluster's, so the namespace is in their name. */}}
{{- define "mcptasks.answerPolicy" -}}
{{ include "mcptasks.fullname" . }}-answers.{{ include "mcptasks.tasksNamespace" . }}
{{- end }}
