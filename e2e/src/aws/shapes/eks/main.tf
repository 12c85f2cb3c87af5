module "cluster" {
  source      = "./module"
  name        = "main"
  node_groups = { general = { types = ["t3.large"], max = 3, labels = { pool = "general" }, taints = [{ key = "spot", effect = "NO_SCHEDULE" }] }, small = {} }
  access      = { admin = { arn = "arn:aws:iam::123456789012:role/admin", policies = { view = { policy = "AmazonEKSViewPolicy", namespaces = ["a"] } } } }
}
output "groups" { value = module.cluster.groups }
