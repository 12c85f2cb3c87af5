module "logs" {
  source     = "./module"
  bucket     = "acme-logs-1"
  versioning = { enabled = true }
  lifecycle_rules = [
    { id = "old", prefix = "logs/", expiration = { days = 90 }, transitions = [{ days = 30, storage_class = "STANDARD_IA" }] },
    { id = "parts", enabled = false, abort_days = 7 },
  ]
  cors = [{ methods = ["GET"], origins = ["https://example.com"] }]
}

module "plain" {
  source     = "./module"
  bucket     = "acme-plain-1"
  encryption = null
  public     = true
}

output "arns" { value = { logs = module.logs.versioned, plain = module.plain.versioned } }
