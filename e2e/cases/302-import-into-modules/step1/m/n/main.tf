resource "terraform_data" "d" {
  for_each = toset(["k"])
  input    = each.key
}
