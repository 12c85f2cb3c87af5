resource "terraform_data" "rev" { input = 1 }
resource "terraform_data" "many" {
  count = 2
  input = count.index
}
resource "terraform_data" "by_resource" {
  input = "x"
  lifecycle { replace_triggered_by = [terraform_data.rev] }
}
resource "terraform_data" "by_attribute" {
  input = "x"
  lifecycle { replace_triggered_by = [terraform_data.rev.triggers_replace] }
}
resource "terraform_data" "by_instance" {
  count = 2
  input = "x"
  lifecycle { replace_triggered_by = [terraform_data.many[count.index]] }
}
