resource "terraform_data" "x" {
  for_each = toset(["a", "c"])
  input    = each.key
}
