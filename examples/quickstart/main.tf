# A small site of real files, and a note. `npm start` deploys it, on a server that it starts.

terraform {
  required_providers {
    files = {
      source  = "example.com/quickstart/files"
      version = "~> 0.1"
    }

    # Lives in a function; found through the registry of the server, in exactly this version.
    notes = {
      source  = "huawei.com/private-provider/notes"
      version = "1.0.0"
    }
  }
}

provider "files" {
  root = "${path.root}/site"
}

variable "title" {
  type        = string
  default     = "Quickstart"
  description = "What the site is called."

  validation {
    condition     = length(var.title) > 0
    error_message = "A site has a title."
  }
}

variable "sections" {
  type        = map(string)
  description = "Pages by name, with what stands on them."
  default = {
    about   = "Written by a template, deployed by a provider of one page of code."
    contact = "There is nobody here."
  }
}

locals {
  names = sort(keys(var.sections))
}

# Read while planning: the outputs of another state.
data "terraform_remote_state" "shared" {
  backend = "local"
  config  = { path = "${path.root}/shared.tfstate" }
}

# One instance for each section; the address of each is its name.
module "section" {
  source   = "./modules/page"
  for_each = var.sections

  name   = each.key
  title  = title(each.key)
  text   = each.value
  footer = data.terraform_remote_state.shared.outputs.footer
}

# Three instances by number.
resource "terraform_data" "build" {
  count = 3
  input = "build ${count.index + 1} of ${var.title}"
}

# Depends on the hashes of all pages, so it changes when any of them does.
resource "files_page" "index" {
  path = "index.html"
  content = templatefile("${path.module}/templates/index.tftpl", {
    title  = var.title
    names  = local.names
    hashes = { for name, section in module.section : name => section.sha256 }
    builds = terraform_data.build[*].output
  })
}

# Made by the private provider, after the page that it is about.
resource "notes_note" "release" {
  name = "release"
  text = "${var.title}: ${length(local.names)} sections, index ${substr(files_page.index.sha256, 0, 12)}\n"
}

check "index_names_every_section" {
  assert {
    condition     = alltrue([for name in local.names : strcontains(files_page.index.content, name)])
    error_message = "The index does not name every section."
  }
}

output "index" {
  description = "Where to look."
  value       = "${path.root}/site/${files_page.index.path}"
}

output "pages" {
  value = { for name, section in module.section : name => section.path }
}

output "note" {
  description = "What the private provider wrote."
  value       = "${path.root}/notes/${notes_note.release.id}"
}
