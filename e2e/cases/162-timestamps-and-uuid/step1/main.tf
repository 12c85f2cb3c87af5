resource "terraform_data" "x" {
  input = { stable = plantimestamp() == plantimestamp(), len = length(uuid()) }
  triggers_replace = "fixed"
  lifecycle { ignore_changes = [input] }
}
output "known" { value = timestamp() != "" }
