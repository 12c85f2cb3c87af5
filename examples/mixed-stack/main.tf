# Four kinds of providers in one stack, and a value that goes through all of them.

terraform {
  required_providers {
    # A Terraform provider: a program that is installed.
    random = {
      source  = "hashicorp/random"
      version = "~> 3.9"
    }
    # A private provider: a function that is registered.
    ipam = {
      source  = "huawei.com/private-provider/ipam"
      version = "1.0.0"
    }
    # A Pulumi provider: a program `pulumi-resource-lab` of this machine. Its types are named after their tokens.
    lab = {
      source = "stackwright.local/pulumi/lab"
    }
  }
}

variable "notes" {
  type        = string
  description = "Folder for the notes of the Pulumi provider."
}

provider "ipam" {
  pool = "10.30.0.0/29"
}

provider "lab" {
  directory = var.notes
}

resource "random_pet" "host" {
  length = 1
  prefix = "web"
}

resource "ipam_address" "host" {
  host = random_pet.host.id
}

# The type as Pulumi's documentation has it; its name is lab_note.
resource "lab:index:Note" "card" {
  title = random_pet.host.id
  text  = "${random_pet.host.id} has ${ipam_address.host.ip}"
}

# The built-in provider, at the end of the chain.
resource "terraform_data" "summary" {
  input = {
    note = lab_note.card.file
    url  = "http://${ipam_address.host.ip}/"
  }
}

output "summary" {
  value = terraform_data.summary.output
}
