{{- /* The image by tag, by digest or by both. */ -}}
{{- define "dojo-operator.image" -}}
{{- .Values.image.repository }}
{{- with .Values.image.tag }}{{ hasPrefix "sha256:" . | ternary "@" ":" }}{{ . }}{{ end }}
{{- end -}}
