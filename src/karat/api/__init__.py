"""The public functions and classes: what `import karat` offers."""
