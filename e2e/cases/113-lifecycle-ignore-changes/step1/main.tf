resource "terraform_data" "attr" {
  input = "one"
  triggers_replace = "t1"
  lifecycle { ignore_changes = [input] }
}
resource "terraform_data" "all" {
  input = "one"
  triggers_replace = "t1"
  lifecycle { ignore_changes = all }
}
