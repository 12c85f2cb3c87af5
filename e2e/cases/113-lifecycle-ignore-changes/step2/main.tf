resource "terraform_data" "attr" {
  input = "two"
  triggers_replace = "t1"
  lifecycle { ignore_changes = [input] }
}
resource "terraform_data" "all" {
  input = "two"
  triggers_replace = "t2"
  lifecycle { ignore_changes = all }
}
