terraform {
  required_version = ">= 1.0"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.79"
    }
  }
}

variable "endpoint" {
  type    = string
  default = "http://127.0.0.1:5555"
}

provider "aws" {
  region                      = "eu-west-1"
  access_key                  = "test"
  secret_key                  = "test"
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  skip_requesting_account_id  = true
  skip_region_validation      = true
  s3_use_path_style           = true
  max_retries                 = 2

  default_tags {
    tags = { Owner = "platform" }
  }

  endpoints {
    dynamodb = var.endpoint
    ec2      = var.endpoint
    iam      = var.endpoint
    kms      = var.endpoint
    lambda   = var.endpoint
    logs     = var.endpoint
    s3       = var.endpoint
    sns      = var.endpoint
    sqs      = var.endpoint
    ssm      = var.endpoint
    sts      = var.endpoint
  }
}
