module mcptasks.dev/devcluster/helpers

go 1.25.0
