resource "terraform_data" "a" {
  for_each = { for i in range(100) : format("k%03d", i) => i }
  input    = each.value
}
resource "terraform_data" "b" {
  for_each = terraform_data.a
  input    = "${each.key}-${each.value.output}"
}
output "sum" { value = sum([for a in terraform_data.a : a.input]) }
