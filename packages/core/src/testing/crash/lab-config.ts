/**
 * Configurations for the lab provider that follow each other: with each number objects are created, changed, replaced in both
 * orders, deleted.
 */
export function labConfig(directory: string, number: number, hang = false): string {
  const keys = number % 2 === 0 ? ["a", "b"] : ["b", "c"];
  return `
terraform {
  required_providers {
    lab = { source = "example.com/acme/lab" }
  }
}
provider "lab" {
  directory = ${JSON.stringify(directory)}
}
resource "lab_object" "net" {
  count = 2
  name  = "net-\${count.index}"
  size  = ${number}
${hang ? '  fault = "hang-create"\n' : ""}}
resource "lab_object" "vm" {
  for_each = toset(${JSON.stringify(keys)})
  name     = "vm-${number}-\${each.key}"
  tags     = { net = lab_object.net[0].id }
  lifecycle {
    create_before_destroy = true
  }
}
resource "lab_object" "disk" {
  count = ${2 + (number % 2)}
  name  = "disk-${number}-\${count.index}"
  tags  = { net = lab_object.net[1].id }
}
resource "lab_object" "dns" {
  name = "dns"
  tags = { for key, vm in lab_object.vm : key => vm.id }
}
`;
}
