module "m" { source = "./m" }
resource "terraform_data" "x" {
  input = {
    text   = file("${path.module}/a.txt")
    b64    = filebase64("a.txt")
    sha    = filesha256("a.txt")
    exists = [fileexists("a.txt"), fileexists("b.txt")]
    set    = fileset("d", "**/*.txt")
    inner  = module.m.text
    names  = [basename("a/b.txt"), dirname("a/b.txt")]
    path   = pathexpand("a")
  }
}
