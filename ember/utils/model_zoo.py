"""The old home of `ember.hub.load_state_dict_from_url`."""

from ember.hub import _import_dotted_name as _import_dotted_name
from ember.hub import load_state_dict_from_url
from ember.hub import load_state_dict_from_url as load_url
from ember.hub import tqdm as tqdm

__all__ = ["load_state_dict_from_url", "load_url"]
