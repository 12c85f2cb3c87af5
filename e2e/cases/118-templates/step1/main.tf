locals {
  names = ["ann", "bob"]
  on    = true
}
resource "terraform_data" "t" {
  input = {
    loop      = "%{for n in local.names}${n},%{endfor}"
    cond      = "%{if local.on}yes%{else}no%{endif}"
    escaped   = "$${not} %%{this}"
    file      = templatefile("greeting.tftpl", { who = "world", many = local.names })
    joined    = join("-", [for n in local.names : title(n)])
    formatted = format("%05.2f|%-5s|%q|%v", 3.14159, "ab", "quo\"te", [1, "x"])
    list      = formatlist("%s!", local.names)
    indented  = indent(2, "a\nb")
    trimmed   = trimspace("  x  ")
    replaced  = replace("hello", "/l+/", "L")
    split     = split(",", "a,b,,c")
    regex     = regexall("[a-z]+", "ab 12 cd")
  }
}
output "t" { value = terraform_data.t.output }
