"""Suggest tags of a bag: by BirdNET from the first minute, by the project's own model once there is one."""
