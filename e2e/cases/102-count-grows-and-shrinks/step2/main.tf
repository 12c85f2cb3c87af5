resource "terraform_data" "x" {
  count = 4
  input = "item ${count.index} of 4"
}
output "ids_known" { value = length(terraform_data.x) }
output "inputs" { value = terraform_data.x[*].input }
