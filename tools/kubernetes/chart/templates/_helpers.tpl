{{- define "xdp-roce.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "xdp-roce.labels" -}}
app.kubernetes.io/name: xdp-roce
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- define "xdp-roce.exporterSelector" -}}
app.kubernetes.io/name: xdp-roce
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: exporter
{{- end }}

{{- define "xdp-roce.isLoopback" -}}
{{- if or (hasPrefix "127." .) (eq . "::1") }}yes{{ end }}
{{- end }}
