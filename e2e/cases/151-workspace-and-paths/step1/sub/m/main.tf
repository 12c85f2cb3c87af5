output "paths" {
  value = [path.module, path.root]
}
