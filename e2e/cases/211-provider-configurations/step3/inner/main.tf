terraform {
  required_providers {
    lab = {
      source                = "example.test/lab/lab"
      configuration_aliases = [lab.more]
    }
  }
}
resource "lab_object" "second" {
  name = "second"
}
resource "lab_object" "third" {
  provider = lab.more
  name     = "third"
}
data "lab_objects" "here" {
  depends_on = [lab_object.second]
}
output "found" { value = length(data.lab_objects.here.objects) }
