"""What a person looks at: figures, drawn on axes that the caller hands in. The only room that draws."""
