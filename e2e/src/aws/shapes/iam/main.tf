module "roles" {
  source = "./module"
  roles = {
    reader = { services = ["ec2.amazonaws.com"], actions = ["s3:GetObject", "s3:ListBucket"] }
    deploy = { services = ["ecs-tasks.amazonaws.com", "lambda.amazonaws.com"], policies = ["arn:aws:iam::aws:policy/ReadOnlyAccess"], max_session = 7200 }
  }
  users  = ["ann", "ben"]
  groups = { admins = ["ann"], all = ["ann", "ben"] }
}

output "roles" { value = module.roles.names }
