//! One sandbox policy for an AI agent's file tools and shell, held by the kernel.
