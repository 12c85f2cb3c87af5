resource "terraform_data" "größe" {
  for_each = { "ключ" = "значение", "emoji 👍" = "e\u0301" }
  input    = each.value
}
output "länge" { value = [for s in ["é", "👍🏽", "e\u0301"] : length(s)] }
output "keys" { value = keys(terraform_data.größe) }
