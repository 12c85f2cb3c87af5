resource "terraform_data" "x" {
  count = 0
  input = "item ${count.index} of 0"
}
output "ids_known" { value = length(terraform_data.x) }
output "inputs" { value = terraform_data.x[*].input }
